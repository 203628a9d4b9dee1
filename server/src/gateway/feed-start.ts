import { tick } from '@computer/contract'
import { z } from 'zod'
import { decodeCursor, encodeCursor } from '../domain/page.ts'
import type { Connection } from './connection.ts'

/* Where a feed of placed rows begins: after a cursor that the client names, or with what is new. */

export const AfterQuery = z.strictObject({ after: z.string().min(1).max(100).optional() })

/** `readLast` reads the position after which everything is new. */
export async function startOf(
  after: string | undefined,
  readLast: () => Promise<number>,
): Promise<number> {
  return after === undefined ? readLast() : Number(decodeCursor(after, /^\d{1,15}$/))
}

/** A client that has received no row yet resumes there. */
export function tellStart(connection: Connection, after: number): void {
  connection.sendControl({ ...tick, cursor: encodeCursor(String(after)) })
}
