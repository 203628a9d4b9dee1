import type { Machine } from '@computer/sdk'
import { connect, findMachine } from '../../client.ts'
import type { ConnectionFlags } from '../../config.ts'
import { showDone, type OutputOptions } from '../../output.ts'

/** Sends input to the desktop of a machine. Takes its input lease, and gives it back afterwards. */
export async function act(
  ref: string,
  options: OutputOptions & ConnectionFlags,
  done: string,
  send: (machine: Machine) => Promise<void>,
): Promise<void> {
  await using computer = await connect(options)
  const machine = await findMachine(computer, ref)
  await send(machine)
  showDone(`${done} on ${machine.name}`, { machineId: machine.id }, options)
}
