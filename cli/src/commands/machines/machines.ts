import { Command } from '@commander-js/extra-typings'
import type { Computer, MachineRecord } from '@computer/sdk'
import { findMachine } from '../../client.ts'
import { getCommand } from '../get.ts'
import { machineLines } from './columns.ts'
import { create } from './create.ts'
import { deleteMachine } from './delete.ts'
import { fork } from './fork.ts'
import { listMachines } from './list.ts'
import { rename } from './rename.ts'
import { resize } from './resize.ts'
import { restart } from './restart.ts'
import { restore } from './restore.ts'
import { startMachine } from './start.ts'
import { stopMachine } from './stop.ts'

export const machines = new Command('machines')
  .alias('m')
  .description('Create, list, start, stop, fork, restore and delete machines.')
  .addCommand(create)
  .addCommand(listMachines('list').alias('ls'))
  .addCommand(getCommand('machine', findMachineRecord, machineLines))
  .addCommand(startMachine())
  .addCommand(stopMachine())
  .addCommand(restart)
  .addCommand(rename)
  .addCommand(resize)
  .addCommand(fork)
  .addCommand(restore)
  .addCommand(deleteMachine)

async function findMachineRecord(computer: Computer, ref: string): Promise<MachineRecord> {
  return (await findMachine(computer, ref)).data
}
