import { sql } from 'kysely'

/** Whether a machine counts as running for the limits: it runs, or is on its way there. */
export const countsAsRunning = sql<boolean>`(
  wanted = 'running' and state not in ('stopped', 'error', 'deleting')
)`
