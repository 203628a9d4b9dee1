import { Command } from '@commander-js/extra-typings'
import { create } from './create.ts'
import { deleteMachine } from './delete.ts'
import { fork } from './fork.ts'
import { get } from './get.ts'
import { list } from './list.ts'
import { rename } from './rename.ts'
import { resize } from './resize.ts'
import { restart } from './restart.ts'
import { restore } from './restore.ts'
import { start } from './start.ts'
import { stop } from './stop.ts'

export const machines = new Command('machines')
  .alias('m')
  .description('Create, list, start, stop, fork, restore and delete machines.')
  .addCommand(create)
  .addCommand(list)
  .addCommand(get)
  .addCommand(start)
  .addCommand(stop)
  .addCommand(restart)
  .addCommand(rename)
  .addCommand(resize)
  .addCommand(fork)
  .addCommand(restore)
  .addCommand(deleteMachine)
