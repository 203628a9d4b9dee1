/** A caller as usage names it. */
export type ActorType = 'user' | 'api_key'

/** The part of a machine's metadata that its organization counts usage by. */
export type Labels = Record<string, string>
