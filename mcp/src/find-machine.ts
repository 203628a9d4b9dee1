import type { Machine } from '@computer/sdk'
import { z } from 'zod'
import { Refusal, type Call } from './tool.ts'

/** How every tool names the machine it is about. */
export const machine = z.string().min(1).max(63).describe('Name or id (mch_…) of the machine.')

export async function findMachine({ connection, signal }: Call, wanted: string): Promise<Machine> {
  const { machines } = connection.computer
  if (/^mch_[0-9a-z]{20,32}$/.test(wanted)) return machines.get(wanted, { signal })
  const { data } = await machines.list({ name: wanted, limit: 1, signal })
  if (data[0]) return data[0]
  throw new Refusal(`There is no machine named "${wanted}". list_machines shows those there are.`)
}
