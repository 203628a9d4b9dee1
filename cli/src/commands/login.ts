import { ApiError } from '@computer/sdk'
import { openClient } from '../client.ts'
import { clientCommand, examples } from '../command.ts'
import {
  configPath,
  defaultBaseUrl,
  defaultProfile,
  normalUrl,
  readConfig,
  writeConfig,
} from '../config.ts'
import { showDone } from '../output.ts'
import { readHidden } from '../prompt.ts'

export const login = clientCommand('login')
  .description('Check an API key and keep it for the commands that follow.')
  .option('--key [key]', 'the key; without it, it is asked for or read from standard input')
  .option('--url <url>', `address of the server (default: COMPUTER_BASE_URL, or ${defaultBaseUrl})`)
  .addHelpText(
    'after',
    `
The key is kept in a file that only you can read, and never shown again. A key given as an
argument shows in the list of processes and in the history of the shell: better let it be
asked for. On the server itself, the owner's first key is in owner.key of the data folder.
${examples(
  'computer login --url https://computer.example.com',
  'computer login --profile local < /var/lib/computer/owner.key',
)}`,
  )
  .action(async (options) => {
    const config = await readConfig()
    const name = options.profile ?? (process.env['COMPUTER_PROFILE'] || defaultProfile)
    const known = config.profiles[name]?.base_url
    const url = options.url ?? (process.env['COMPUTER_BASE_URL'] || known) ?? defaultBaseUrl
    const baseUrl = normalUrl(url)
    const given = typeof options.key === 'string' ? options.key : await readHidden('API key')
    const apiKey = given.trim()
    if (!/^[\x21-\x7e]+$/.test(apiKey)) throw new ApiError('invalid_request', 'that is no API key')
    await using computer = await openClient(apiKey, baseUrl)
    const me = await computer.me()
    const profiles = { ...config.profiles, [name]: { base_url: baseUrl, api_key: apiKey } }
    await writeConfig({ current: name, profiles })
    warnOfPlainText(baseUrl)
    const sentence = `Signed in to ${me.organization.name} at ${baseUrl}; kept as profile ${name} in ${configPath()}`
    showDone(sentence, { profile: name, baseUrl, ...me }, options)
  })

function warnOfPlainText(baseUrl: string): void {
  const { protocol, hostname } = new URL(baseUrl)
  const isHere = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)
  if (protocol === 'http:' && !isHere)
    console.error(`warning: ${baseUrl} is not https: the key goes over the network unencrypted`)
}
