import { Exit } from '../../errors.ts'
import { showRecord, type OutputOptions } from '../../output.ts'
import type { HelpRequest } from '@computer/sdk'
import { helpLines, outcomeLines } from './columns.ts'

/** Shows a request that has ended. Exits with 1 unless it is done. */
export function showOutcome(request: HelpRequest, options: OutputOptions): void {
  showRecord(request, outcomeLines, options)
  requireDone(request)
}

/** The same with all its fields. */
export function showEnded(request: HelpRequest, options: OutputOptions): void {
  showRecord(request, helpLines, options)
  requireDone(request)
}

function requireDone({ state }: HelpRequest): void {
  if (state !== 'done') throw new Exit(1)
}
