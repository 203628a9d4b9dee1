import { ApiError } from '@computer/sdk'
import { Link } from '@tanstack/react-router'
import { useEffect, useState, type ReactNode } from 'react'
import { resetPassword } from '../../api/auth.ts'
import { leaveFor } from '../../api/organizations.ts'
import { Button } from '../../ui/Button.tsx'
import { cx } from '../../ui/cx.ts'
import { ErrorNotice } from '../../ui/ErrorNotice.tsx'
import { NewPasswordField } from '../../ui/NewPasswordField.tsx'
import { useForm } from '../../ui/use-form.ts'
import { forgetLinkToken, useLinkToken } from './link-token.ts'
import { linkLook, SignInLayout } from './SignInLayout.tsx'

export function ResetPasswordPage() {
  const token = useLinkToken()
  if (token !== null) return <Reset key={token} token={token} />
  return (
    <Ended>
      <p>This address has no token. Open the link of the mail again, in full.</p>
    </Ended>
  )
}

function Reset({ token }: { readonly token: string }) {
  const [ended, setEnded] = useState<ApiError>()
  const [isDone, setDone] = useState(false)
  useEffect(() => {
    if (isDone || ended) forgetLinkToken()
  }, [isDone, ended])
  if (isDone) return <Done />
  if (ended)
    return (
      <Ended>
        <ErrorNotice error={ended} />
      </Ended>
    )
  return (
    <SignInLayout
      title="Set a new password"
      description="All browsers that are signed in to your account are signed out."
    >
      <ResetForm token={token} onDone={() => setDone(true)} onEnded={setEnded} />
    </SignInLayout>
  )
}

function ResetForm({
  token,
  onDone,
  onEnded,
}: {
  readonly token: string
  readonly onDone: () => void
  readonly onEnded: (error: ApiError) => void
}) {
  const form = useForm(['password'], async (values) => {
    try {
      await resetPassword(token, String(values.get('password')))
      onDone()
    } catch (error) {
      if (!isEnded(error)) throw error
      const { code, message, requestId } = error
      onEnded(new ApiError(code, message, { requestId }))
    }
  })
  return (
    <form onSubmit={form.submit} className="space-y-4">
      <NewPasswordField
        label="New password"
        name="password"
        error={form.errorOf('password')}
        autoFocus
      />
      {form.error !== undefined && <ErrorNotice error={form.error} />}
      <Button type="submit" look="primary" busy={form.isBusy} className="w-full">
        Set the password
      </Button>
    </form>
  )
}

/** An error about the token itself. Its details are for programs. */
function isEnded(error: unknown): error is ApiError {
  return error instanceof ApiError && error.details.some(({ field }) => field === 'token')
}

function Ended({ children }: { readonly children: ReactNode }) {
  return (
    <SignInLayout title="This link does not work">
      {children}
      <Link to="/forgot-password" className={cx(linkLook, 'mt-4 block')}>
        Ask for a new link
      </Link>
    </SignInLayout>
  )
}

function Done() {
  return (
    <SignInLayout
      title="Your password is set"
      description={<p role="status">Sign in with it. All earlier sessions have ended.</p>}
    >
      {/* Other tabs were signed in with a session that has ended. */}
      <Button look="primary" onClick={() => leaveFor(null, '/login')} className="w-full">
        Sign in
      </Button>
    </SignInLayout>
  )
}
