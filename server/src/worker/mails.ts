import { createTransport, type NodemailerError } from 'nodemailer'
import type { App } from '../app.ts'
import type { MailRow } from '../db/database.ts'
import { claimMail, forgetMail, postponeMail } from '../domain/accounts/mails.ts'
import { pause } from '../pace.ts'

const pollMs = 1_000
const connectTimeoutMs = 20_000
const mailTimeoutMs = 90_000

/**
 * Hands mails to the mail server until the signal is aborted. Each goes out once however many workers
 * do this, unless one dies, or loses the server's answer, right after the server took it: the second
 * copy has the same Message-ID.
 */
export async function deliverMails(
  app: Pick<App, 'config' | 'db' | 'log'>,
  signal: AbortSignal,
): Promise<void> {
  const { smtpUrl, mailFrom, dashboardUrl } = app.config
  if (smtpUrl === null) {
    app.log.info('COMPUTER_SMTP_URL is not set: no mail is sent; pass the links of invitations on')
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
      app.log.warn({ err: error }, 'mail could not be looked for; trying again')
      await pause(pollMs, signal)
    }
  }
}

async function deliver(
  app: Pick<App, 'db' | 'log'>,
  mail: MailRow,
  send: (mail: MailRow) => Promise<void>,
): Promise<void> {
  try {
    await send(mail)
  } catch (error) {
    const { code, command, responseCode, permanent } = error as NodemailerError
    // The server's words stay out of the log: they may quote the mail, and with it a token.
    const fields = { mail_id: mail.id, code, command, response_code: responseCode }
    // What is said to the sender or the login is about the configuration, which can be mended.
    if (permanent && (command === 'RCPT TO' || command === 'DATA')) {
      app.log.warn(fields, 'the mail server refused a mail for good')
      return forgetMail(app.db, mail)
    }
    const reason = [code, command, responseCode].filter(Boolean).join(' ')
    const isPostponed = await postponeMail(app.db, mail, reason)
    app.log.warn(fields, isPostponed ? 'a mail waits for another try' : 'a mail was given up')
    return
  }
  await forgetMail(app.db, mail)
}
