import { Command } from '@commander-js/extra-typings'
import { list } from './list.ts'

export const keys = new Command('keys')
  .description('List the API keys of the organization.')
  .addCommand(list)
  .addHelpText('after', '\nNo key may make or revoke keys: people do, signed in with a browser.')
