import type { Computer } from '@computer/sdk'
import { connect } from '../client.ts'
import { clientCommand } from '../command.ts'
import { showRecord, type Columns } from '../output.ts'

/** `computer RESOURCES get REF`: prints every field of one record. */
export function getCommand<T>(
  kind: string,
  find: (computer: Computer, ref: string) => Promise<T>,
  lines: Columns<T>,
) {
  return clientCommand('get')
    .description(`Show all fields of a ${kind}.`)
    .argument(`<${kind}>`, `${kind} ID or name`)
    .action(async (ref, options) => {
      await using computer = await connect(options)
      showRecord(await find(computer, ref), lines, options)
    })
}
