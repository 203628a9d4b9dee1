import { Command } from '@commander-js/extra-typings'
import { create } from './create.ts'
import { deleteTemplate } from './delete.ts'
import { get } from './get.ts'
import { list } from './list.ts'

export const templates = new Command('templates')
  .description('States that many machines begin from.')
  .addCommand(create)
  .addCommand(list)
  .addCommand(get)
  .addCommand(deleteTemplate)
