import { Command } from '@commander-js/extra-typings'
import { findTemplate } from '../../client.ts'
import { getCommand } from '../get.ts'
import { templateLines } from './columns.ts'
import { create } from './create.ts'
import { deleteTemplate } from './delete.ts'
import { list } from './list.ts'

export const templates = new Command('templates')
  .description('Manage templates, the disks that new machines are created from.')
  .addCommand(create)
  .addCommand(list)
  .addCommand(getCommand('template', findTemplate, templateLines))
  .addCommand(deleteTemplate)
