import { ApiError } from '@computer/sdk'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { requestPasswordReset } from '../../api/auth.ts'
import { Button } from '../../ui/Button.tsx'
import { Code } from '../../ui/Code.tsx'
import { ErrorNotice } from '../../ui/ErrorNotice.tsx'
import { useForm } from '../../ui/use-form.ts'
import { EmailField } from './EmailField.tsx'
import { linkLook, SignInLayout } from './SignInLayout.tsx'

export function ForgotPasswordPage() {
  const [sentTo, setSentTo] = useState<string>()
  return (
    <SignInLayout
      title={sentTo === undefined ? 'Forgotten password' : 'Look into your mail'}
      description={
        sentTo === undefined &&
        'Enter the email of your account, and a link to set a new password is sent to it.'
      }
      footer={
        <Link to="/login" className={linkLook}>
          Back to sign in
        </Link>
      }
    >
      {sentTo === undefined ? (
        <RequestForm onSent={setSentTo} />
      ) : (
        <Sent email={sentTo} onAgain={() => setSentTo(undefined)} />
      )}
    </SignInLayout>
  )
}

function RequestForm({ onSent }: { readonly onSent: (email: string) => void }) {
  const [email, setEmail] = useState('')
  const form = useForm(['email'], async () => {
    await requestPasswordReset(email)
    onSent(email)
  })
  const isWithoutMail =
    form.error instanceof ApiError && form.error.code === 'unsupported_operation'
  return (
    <form onSubmit={form.submit} className="space-y-4">
      <EmailField value={email} onValueChange={setEmail} error={form.errorOf('email')} autoFocus />
      {form.error !== undefined && (
        <ErrorNotice error={form.error}>
          {isWithoutMail && <PrintedLink email={email} />}
        </ErrorNotice>
      )}
      <Button type="submit" look="primary" busy={form.isBusy} className="w-full">
        Send the link
      </Button>
    </form>
  )
}

/** The same for an email without an account: the server does not tell who has one. */
function Sent({ email, onAgain }: { readonly email: string; readonly onAgain: () => void }) {
  return (
    <div className="space-y-3" role="status">
      <p className="break-words">
        If <bdi className="font-medium">{email}</bdi> has an account here, a link is on its way to
        it. The link works once, within an hour.
      </p>
      <p className="text-muted">
        Nothing has come after some minutes? Look into the spam folder, check the address, or ask
        the operator of this server.
      </p>
      <Button onClick={onAgain}>Use another email</Button>
    </div>
  )
}

function PrintedLink({ email }: { readonly email: string }) {
  return (
    <div className="space-y-1.5">
      <p>On the server, the operator can print a link that signs you in once:</p>
      <Code text={`computer admin login-link --email ${email}`} label="command for the operator" />
    </div>
  )
}
