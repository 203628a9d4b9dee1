import { Command } from '@commander-js/extra-typings'
import { answer } from './answer.ts'
import { ask } from './ask.ts'
import { cancel } from './cancel.ts'
import { link } from './link.ts'
import { list } from './list.ts'
import { show } from './show.ts'
import { take } from './take.ts'

export const helpRequests = new Command('help-requests')
  .description('What agents ask people for: take the screen, and hand it back with an answer.')
  .addCommand(list)
  .addCommand(show)
  .addCommand(ask)
  .addCommand(take)
  .addCommand(answer)
  .addCommand(cancel)
  .addCommand(link)
