import { Command } from '@commander-js/extra-typings'
import { becomeServerProgram } from '../server-program.ts'

export const migrate = new Command('migrate')
  .description('Bring the database to the schema of this version.')
  .addHelpText(
    'after',
    `
\`computer up\` does so at its start. Where roles are started one by one, this is the first
step of an upgrade: processes of the version before go on meanwhile.`,
  )
  .action(() => becomeServerProgram('main-migrate.ts'))
