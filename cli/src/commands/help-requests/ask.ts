import { Option } from '@commander-js/extra-typings'
import { ApiError, type Computer, type HelpRequest } from '@computer/sdk'
import { helpReasons } from '@computer/sdk/tables'
import { connect, findMachine } from '../../client.ts'
import { clientCommand, examples, parseMinutes } from '../../command.ts'
import { Exit } from '../../errors.ts'
import { writeJson } from '../../output.ts'
import { printable } from '../../text.ts'
import { showOutcome } from './outcome.ts'

export const ask = clientCommand('ask')
  .description('Ask a person to do something on a machine.')
  .argument('<machine>', 'machine ID or name')
  .addOption(
    new Option('--reason <reason>', 'what it is about').choices(helpReasons).makeOptionMandatory(),
  )
  .requiredOption('--message <text>', 'what the person is to do')
  .option('--choice <choices...>', 'answers to choose from, two to ten')
  .option('--assignee <email>', 'a member, who gets a mail')
  .option('--private', 'nobody else sees the screen meanwhile (default for login and two_factor)')
  .option('--no-private', 'the screen stays visible')
  .option('--expires <minutes>', 'minutes until it expires (default: 60)', parseMinutes)
  .option('--wait', 'wait for the answer and print it; exits with 1 unless it is done')
  .addHelpText(
    'after',
    `
Prints a takeover link, once: it opens this screen for somebody without an account. With
--wait, Ctrl-C cancels the request.
${examples(
  "computer help-requests ask first --reason login --message 'Log in to the shop'",
  "computer help-requests ask first --reason approval --message 'Pay 20 USD?' --choice Yes No --wait",
)}`,
  )
  .action(async (ref, { choice: choices, expires, assignee: email, wait, ...options }) => {
    await using computer = await connect(options)
    const machine = await findMachine(computer, ref)
    const { reason, message } = options
    const assignee = email && (await findMember(computer, email))
    const expiresInSeconds = expires === undefined ? undefined : Math.round(expires * 60)
    const body = { reason, message, choices, assignee, expiresInSeconds, private: options.private }
    if (!wait) {
      const request = await machine.helpRequests.create(body)
      if (options.json) return writeJson(request)
      showLink(request)
      console.log(request.takeoverUrl)
      return
    }
    const onRequested = (request: HelpRequest) => {
      showLink(request)
      console.error(request.takeoverUrl)
    }
    const work = (signal: AbortSignal) => machine.askForHelp({ ...body, signal, onRequested })
    const { request } = await unlessInterrupted(work)
    showOutcome(request, options)
  })

function showLink({ id }: HelpRequest): void {
  console.error(printable(`Asked: ${id}. Its takeover link works once and is shown only now:`))
}

/** The id of the member with this address. */
async function findMember(computer: Computer, email: string): Promise<string> {
  for await (const { user } of computer.members.list({ limit: 100 }))
    if (user.email.toLowerCase() === email.toLowerCase()) return user.id
  throw new ApiError('not_found', `no member has the address ${email}`)
}

/** Runs work that ends with its signal, which Ctrl-C aborts. */
async function unlessInterrupted<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const interruption = new AbortController()
  const interrupt = () => interruption.abort(new Exit(130))
  for (const signal of signals) process.once(signal, interrupt)
  try {
    return await work(interruption.signal)
  } finally {
    for (const signal of signals) process.off(signal, interrupt)
  }
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
