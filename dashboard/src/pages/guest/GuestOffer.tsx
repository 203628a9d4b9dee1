import type { GuestHelp } from '@computer/sdk'
import { useState } from 'react'
import { Button } from '../../ui/Button.tsx'
import { ErrorNotice } from '../../ui/ErrorNotice.tsx'
import { TextField } from '../../ui/Field.tsx'
import { Hand, Lock } from '../../ui/icons.ts'
import { Moment } from '../../ui/Time.tsx'
import { useForm } from '../../ui/use-form.ts'
import { privatePromise, reasonText } from '../help/help-words.ts'
import { HelpMessage } from '../help/HelpMessage.tsx'
import { SignInLayout } from '../sign-in/SignInLayout.tsx'
import { helpGuest } from './guest-client.ts'

const maxNameCharacters = 80
const nameKey = 'guest name'

/** The request, who asks and on which machine, with the button that takes the screen over. */
export function GuestOffer({
  help,
  lost,
  onTaken,
}: {
  readonly help: GuestHelp
  readonly lost: { readonly to: string | null } | undefined
  readonly onTaken: (help: GuestHelp) => void
}) {
  const { state, reason, message, machine, organizationName, requestedByName, expiresAt } = help
  const [name, setName] = useState(readName)
  const form = useForm(['name'], async () => {
    keepName(name)
    const taken = await helpGuest.take({ name: name.trim() })
    onTaken(taken.help)
  })
  const isTaken = state === 'active'
  return (
    <SignInLayout
      title="An agent asks for your help"
      description={
        <>
          <bdi className="font-medium">{requestedByName}</bdi> of{' '}
          <bdi className="font-medium">{organizationName}</bdi> works on the machine{' '}
          <bdi className="font-medium">{machine.name}</bdi>, and needs a person.
        </>
      }
    >
      <div className="space-y-4">
        {lost && <Lost to={lost.to} isOpen={!isTaken} />}
        <div className="rounded-lg bg-sunken p-3">
          <p className="text-[13px] text-muted">
            <bdi>{reasonText(reason)}</bdi>
          </p>
          <HelpMessage text={message} />
        </div>
        {help.private && (
          <p className="flex items-start gap-1.5 text-[13px] text-muted">
            <Lock className="mt-0.5 size-3.5 shrink-0" aria-hidden />
            {privatePromise}
          </p>
        )}
        <form onSubmit={form.submit} className="space-y-3">
          <TextField
            label="Your name"
            name="name"
            autoComplete="name"
            required
            maxLength={maxNameCharacters}
            pattern=".*\S.*"
            value={name}
            onValueChange={setName}
            error={form.errorOf('name')}
            hint="The people of the organization see who had the machine."
          />
          {form.error !== undefined && (
            <ErrorNotice error={form.error} title="You could not take over." />
          )}
          <Button
            type="submit"
            look="primary"
            className="w-full"
            icon={<Hand aria-hidden />}
            busy={form.isBusy}
            disabledReason={isTaken && 'Somebody has the machine now.'}
          >
            Take over
          </Button>
        </form>
        <p role="status" className="text-[13px] text-muted">
          {isTaken && 'Somebody has the machine now. If they leave it, you can take over here.'}
        </p>
        <p className="text-[13px] text-muted">
          The agent waits until <Moment iso={expiresAt} />.
        </p>
      </div>
    </SignInLayout>
  )
}

function Lost({ to, isOpen }: { readonly to: string | null; readonly isOpen: boolean }) {
  return (
    <p role="alert" className="rounded-lg bg-warn-soft p-3 text-warn">
      {to === null ? (
        'You do not have the screen any more.'
      ) : (
        <>
          <bdi className="font-medium">{to}</bdi> took the machine over from you.
        </>
      )}{' '}
      {isOpen && 'The request is open again: you can take over once more.'}
    </p>
  )
}

function readName(): string {
  try {
    return sessionStorage.getItem(nameKey) ?? ''
  } catch {
    return ''
  }
}

function keepName(name: string): void {
  try {
    sessionStorage.setItem(nameKey, name)
  } catch {
    // The name is asked for again.
  }
}
