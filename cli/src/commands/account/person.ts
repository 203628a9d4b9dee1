import { ApiError, type Principal } from '@computer/sdk'

/** The person who is signed in. An API key is nobody, so the error says who can. */
export function requirePerson(user: Principal['user']): NonNullable<Principal['user']> {
  if (user) return user
  throw new ApiError(
    'permission_denied',
    'only a person can do this, and you are signed in with an API key; use the profile of a person, made by `computer login --email EMAIL`',
  )
}
