import { Command } from '@commander-js/extra-typings'
import { becomeServerProgram } from '../server-program.ts'

export const up = new Command('up')
  .description('Run the server on this host in the foreground; Ctrl-C stops it.')
  .addHelpText(
    'after',
    `
Starts Postgres, the engine, the API, the gateway and the worker, and restarts any that
exit. The first start creates an owner and stores its API key in owner.key in the data
folder. Machines keep running when the server stops, and the next start adopts them.`,
  )
  .option('--preview-domain <domain>', 'publish ports of machines as subdomains of this domain')
  .option('--preview-port <number>', 'port to serve previews on (default: 7082)')
  .option('--preview-cert <file>', 'wildcard certificate of the domain; reloaded when it changes')
  .option('--preview-key <file>', 'private key of that certificate')
  .action((options) => {
    // The server is configured through its environment only.
    const { env } = process
    for (const [name, value] of Object.entries({
      COMPUTER_PREVIEW_DOMAIN: options.previewDomain,
      COMPUTER_PREVIEW_PORT: options.previewPort,
      COMPUTER_PREVIEW_CERT: options.previewCert,
      COMPUTER_PREVIEW_KEY: options.previewKey,
    })) {
      if (value !== undefined) env[name] = value
    }
    becomeServerProgram('main-up.ts')
  })
