import type { Machine, WaitOptions } from '@computer/sdk'
import { connect, findMachine } from '../../client.ts'
import { waitOptions, type WaitFlags } from '../../command.ts'
import type { ConnectionFlags } from '../../config.ts'
import { showDone, type OutputOptions } from '../../output.ts'
import { spin } from '../../progress.ts'

/** Requests a state change, waits for it unless told otherwise, and prints the resulting state. */
export async function changeState(
  ref: string,
  options: OutputOptions & WaitFlags & ConnectionFlags,
  progress: string,
  request: (machine: Machine, wait: WaitOptions) => Promise<unknown>,
): Promise<void> {
  await using computer = await connect(options)
  const machine = await findMachine(computer, ref)
  await spin(`${progress} ${machine.name}`, () => request(machine, waitOptions(options)))
  showState(machine, options)
}

export function showState(machine: Machine, options: OutputOptions): void {
  showDone(`${machine.name} is ${machine.state}`, machine.data, options)
}
