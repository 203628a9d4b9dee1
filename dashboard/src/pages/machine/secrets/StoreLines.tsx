import type { MachineRecord, Secret } from '@computer/sdk'
import { useState, type FormEvent } from 'react'
import { formatCount } from '../../../format.ts'
import { storeSecret } from '../../../api/secrets.ts'
import { Button } from '../../../ui/Button.tsx'
import { Checkbox } from '../../../ui/Checkbox.tsx'
import { DialogButtons } from '../../../ui/Dialog.tsx'
import { ErrorNotice } from '../../../ui/ErrorNotice.tsx'
import { TextArea } from '../../../ui/Field.tsx'
import { notify } from '../../../ui/notify.ts'
import { faultOf, parseSecrets, writeSecret, type SecretLine } from './parse-secrets.ts'

type Failure = { readonly secret: SecretLine; readonly error: unknown }

/** Stores the secrets of several lines. Those that fail are named and stay in the field. */
export function StoreLines({
  machine,
  pasted,
  existing,
  onClose,
}: {
  readonly machine: MachineRecord
  readonly pasted: string
  readonly existing: readonly Secret[]
  readonly onClose: () => void
}) {
  const [text, setText] = useState(pasted)
  const [isShown, setShown] = useState(false)
  const [isBusy, setBusy] = useState(false)
  const [failures, setFailures] = useState<readonly Failure[]>([])
  const { secrets, unread } = parseSecrets(text)
  const isValid = secrets.length > 0 && secrets.every((secret) => faultOf(secret) === undefined)
  const store = async () => {
    setBusy(true)
    const failed = await storeEach(machine.id, secrets)
    setBusy(false)
    const stored = secrets.length - failed.length
    if (stored > 0) notify(`${formatCount(stored, 'secret')} stored`)
    if (failed.length === 0) return onClose()
    setFailures(failed)
    setText(failed.map(({ secret }) => writeSecret(secret)).join('\n'))
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (isValid && unread.length === 0 && !isBusy) void store()
  }
  return (
    <form onSubmit={submit} className="space-y-3">
      <div className={isShown ? undefined : '[&_textarea]:[-webkit-text-security:disc]'}>
        <TextArea
          label="Lines of KEY=value"
          name="lines"
          rows={6}
          mono
          value={text}
          onValueChange={setText}
          hint="As in an .env file. Quotes around a value are removed."
          autoComplete="off"
          spellCheck={false}
          autoFocus
        />
      </div>
      <Checkbox label="Show the values" checked={isShown} onChange={setShown} />
      <Found secrets={secrets} unread={unread} existing={existing} />
      {failures.map(({ secret: { name }, error }) => (
        <ErrorNotice key={name} error={error} title={`${name} was not stored.`} />
      ))}
      <DialogButtons>
        <Button onClick={onClose}>Cancel</Button>
        <Button
          type="submit"
          look="primary"
          busy={isBusy}
          disabledReason={
            unread.length > 0 || (!isValid && secrets.length > 0)
              ? 'Correct the lines first.'
              : secrets.length === 0 && 'Paste a line first.'
          }
        >
          Store {secrets.length > 0 && formatCount(secrets.length, 'secret')}
        </Button>
      </DialogButtons>
    </form>
  )
}

/** What the lines would do, without their values. */
function Found({
  secrets,
  unread,
  existing,
}: {
  readonly secrets: readonly SecretLine[]
  readonly unread: readonly number[]
  readonly existing: readonly Secret[]
}) {
  if (secrets.length === 0 && unread.length === 0) return null
  return (
    <ul aria-label="Found" aria-live="polite" className="max-h-48 overflow-y-auto text-[13px]">
      {secrets.map((secret) => {
        const fault = faultOf(secret)
        const before = existing.find(({ name }) => name === secret.name)
        return (
          <li key={secret.name} className="break-words">
            <code>{secret.name}</code>{' '}
            <span className={fault ? 'text-bad' : 'text-muted'}>
              {fault ?? (before ? `replaces version ${before.version}` : 'is new')}
            </span>
          </li>
        )
      })}
      {unread.map((line) => (
        <li key={line} className="text-bad">
          Line {line} is not KEY=value, or its quote does not end.
        </li>
      ))}
    </ul>
  )
}

/** One after the other, so that one that fails does not keep the others from being stored. */
async function storeEach(machineId: string, secrets: readonly SecretLine[]): Promise<Failure[]> {
  const failures: Failure[] = []
  for (const secret of secrets) {
    try {
      await storeSecret(machineId, secret.name, secret.value)
    } catch (error) {
      failures.push({ secret, error })
    }
  }
  return failures
}
