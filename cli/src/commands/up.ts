import { Command } from '@commander-js/extra-typings'
import { runServerProgram } from '../server-program.ts'

export const up = new Command('up')
  .description('Start the server on this host and stay with it; Ctrl-C stops it.')
  .addHelpText(
    'after',
    `
Starts Postgres, the engine, the API, the gateway and the worker, and starts again
what dies. The first start makes an owner and keeps its API key in the data folder,
in owner.key. When the server stops, machines run on; the next start finds them.`,
  )
  .option('--preview-domain <domain>', 'publish ports of machines at names below it')
  .option('--preview-port <number>', 'port that previews are served at (default: 7082)')
  .option('--preview-cert <file>', 'its wildcard certificate, read again when it changes')
  .option('--preview-key <file>', 'the key of that certificate')
  .action(async (options) => {
    // The server reads its environment alone, whoever starts it.
    const { env } = process
    for (const [name, value] of Object.entries({
      COMPUTER_PREVIEW_DOMAIN: options.previewDomain,
      COMPUTER_PREVIEW_PORT: options.previewPort,
      COMPUTER_PREVIEW_CERT: options.previewCert,
      COMPUTER_PREVIEW_KEY: options.previewKey,
    })) {
      if (value !== undefined) env[name] = value
    }
    process.exitCode = await runServerProgram('main-up.ts')
  })
