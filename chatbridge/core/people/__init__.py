"""The people of a team, as the owner has set them: who may do what, and where cards go.

Modules:

    team: people, their roles, and where each of them is reached
    routes: which people and chats get the cards of a project or an agent
    sharing: taking a question, and handing it over
"""
