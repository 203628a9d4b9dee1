import { createTransport, type NodemailerError } from 'nodemailer'
import type { App } from '../app.ts'
import type { MailRow } from '../db/database.ts'
import { claimMail, forgetMail, postponeMail } from '../domain/accounts/mails.ts'
import { pause } from '../pace.ts'
import { backoffMs } from '../timing.ts'

const connectTimeoutMs = 20_000
const mailTimeoutMs = 90_000

/**
 * Hands mails to the mail server until the signal is aborted. However many workers run, each mail is
 * sent once, unless a worker dies or loses the answer just after the server accepted it: the second
 * copy then has the same Message-ID.
 */
export async function deliverMails(
  app: Pick<App, 'config' | 'timing' | 'db' | 'log' | 'metrics'>,
  signal: AbortSignal,
): Promise<void> {
  const { smtpUrl, mailFrom, dashboardUrl } = app.config
  const { pollMs } = app.timing
  if (smtpUrl === null) {
    app.log.info('COMPUTER_SMTP_URL is not set, so no mail is sent; share invitation links by hand')
    return
  }
  const transport = createTransport(
    { url: smtpUrl, connectionTimeout: connectTimeoutMs },
    { from: mailFrom, headers: { 'auto-submitted': 'auto-generated' } },
  )
  const send = async (mail: MailRow) => {
    await transport.sendMail({
      to: { name: '', address: mail.recipient },
      subject: mail.subject,
      text: mail.body,
      messageId: `<${mail.id}@${new URL(dashboardUrl).hostname}>`,
      signal: AbortSignal.timeout(mailTimeoutMs),
    })
  }

  while (!signal.aborted) {
    try {
      const mail = await claimMail(app.db)
      if (mail) await deliver(app, mail, send)
      else await pause(pollMs, signal)
    } catch (error) {
      app.log.warn({ err: error }, 'could not read the mail queue; will retry')
      await pause(pollMs, signal)
    }
  }
}

async function deliver(
  app: Pick<App, 'timing' | 'db' | 'log' | 'metrics'>,
  mail: MailRow,
  send: (mail: MailRow) => Promise<void>,
): Promise<void> {
  try {
    await send(mail)
  } catch (error) {
    const { code, command, responseCode, permanent } = error as NodemailerError
    // The server's reply is not logged: it may quote the mail, and with it a token.
    const fields = { mail_id: mail.id, code, command, response_code: responseCode }
    // Other refusals are about the configuration, which the operator can correct.
    if (permanent && (command === 'RCPT TO' || command === 'DATA')) {
      app.log.warn(fields, 'the mail server refused a mail permanently; dropping it')
      app.metrics.worker.countMail('failed')
      return forgetMail(app.db, mail)
    }
    const reason = [code, command, responseCode].filter(Boolean).join(' ')
    const delayMs = backoffMs(app.timing.mailRetry, mail.attempts - 1)
    const isPostponed = await postponeMail(app.db, mail, { reason, delayMs })
    const outcome = isPostponed ? 'could not send a mail; will retry' : 'gave up on sending a mail'
    app.metrics.worker.countMail(isPostponed ? 'postponed' : 'failed')
    app.log.warn(fields, outcome)
    return
  }
  app.metrics.worker.countMail('sent')
  await forgetMail(app.db, mail)
}
