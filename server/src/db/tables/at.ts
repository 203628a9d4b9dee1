import type { Generated } from 'kysely'

/** A time that the database fills in. */
export type At = Generated<Date>
