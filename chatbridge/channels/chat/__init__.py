"""The chat kit: what all chat channels do alike. A channel adds a writer and its `Capabilities`.

agent_receiver: messages to agents in a chat with buttons and replies
agents: what is said about connected agents, and to a message for one of them
announcer: notices, and lists of many
answering: what a bot says to what somebody did
approvals: what an approval is about, and all of what a card cannot hold
attachments: the files of an ask or a notice: in which messages they come, sent in time
before_card: what comes before a new card
bot: a bot with an account of its own, its chats and its channel
callback_data: what a button carries
capabilities: what a chat service can do and how much it takes, and who looks
card: the form's screens, and the messages that go with a card
card_lookup: which ask a message with buttons shows, and which step of it
card_memory: what this process knows of the cards in a chat
card_messages: which messages an ask has in a chat
card_visibility: which questions a text beside the cards may mean
channel: what the channels of all chats do alike
commands: lists, cancelling, quiet hours and help
document: what a message says, before a channel writes it in its own markup
hints: what can be done with a card, and until when
inbound: what a tap, a text, files or a reaction mean for an ask
incoming: what arrives in a chat, as a channel hands it over
keyboard: a card's buttons
long_questions: what of a question stands in its card, and where the rest is
markdown_writer: a document as markdown in which nothing of others is marked up
message_status: what becomes of a message to an agent, said where it was written
notices: what a bot says outside of cards
outcome: how an ended ask reads
outputs: what is sent as a file when somebody asks: outputs of operations, original pictures
people: who may answer
planner: the steps that bring a chat in line with an ask
poll_loop: the loop that reads from a service
received_files: files that a person sends: their limits, and how they are fetched
receiver: what arrives in a chat with buttons and replies, applied and answered
runs: a document as flat text with tags, and where it is cut
scene: an ask as it is to be shown in a chat now
sent_before: what was sent before, at a service that would take it twice
simple: a whole channel but its service, its chats and what an event means
summary: the morning summary, and which ask each of its numbers stands for
surface: one chat as a surface
telling: which agent a person's message is for, and its files
writer: writing into one chat, and what is wrong with it
"""
