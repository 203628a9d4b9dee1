import { Command } from '@commander-js/extra-typings'
import { findBudget } from '../../client.ts'
import { getCommand } from '../get.ts'
import { budgetLines } from './columns.ts'
import { create } from './create.ts'
import { deleteBudget } from './delete.ts'
import { list } from './list.ts'
import { update } from './update.ts'

export const budgets = new Command('budgets')
  .description('Manage budgets, which limit what is used. Only owners change them.')
  .addCommand(create)
  .addCommand(list)
  .addCommand(getCommand('budget', findBudget, budgetLines))
  .addCommand(update)
  .addCommand(deleteBudget)
