import { Command } from '@commander-js/extra-typings'
import { ApiError } from '@computer/sdk'

/** Hidden: it says how to do what ssh does. */
export const ssh = new Command('ssh')
  .description('Machines need no SSH: use shell, exec and cp.')
  .argument('[words...]')
  .allowUnknownOption()
  .action(() => {
    const message =
      'machines need no SSH: `computer shell MACHINE` opens a terminal, `computer exec MACHINE COMMAND` runs a command, and `computer cp` copies files'
    throw new ApiError('invalid_request', message)
  })
