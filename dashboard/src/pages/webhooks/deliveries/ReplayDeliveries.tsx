import type { Webhook } from '@computer/sdk'
import { useState } from 'react'
import { replayDeliveries, type Replay } from '../../../api/webhooks.ts'
import { formatCount } from '../../../format.ts'
import { Button } from '../../../ui/Button.tsx'
import { Dialog, DialogButtons } from '../../../ui/Dialog.tsx'
import { ErrorNotice } from '../../../ui/ErrorNotice.tsx'
import { TextField } from '../../../ui/Field.tsx'
import { notify } from '../../../ui/notify.ts'
import { RadioCards } from '../../../ui/RadioCards.tsx'
import { useForm } from '../../../ui/use-form.ts'

const hourMs = 3_600_000
const keptMs = 30 * 24 * hourMs

type Which = NonNullable<Replay['state']> | 'both'

/** Sends again what failed, or was delivered, since a moment. */
export function ReplayDeliveries({
  webhook,
  onClose,
}: {
  readonly webhook: Webhook
  readonly onClose: () => void
}) {
  const [now] = useState(() => Date.now())
  const [which, setWhich] = useState<Which>('failed')
  const form = useForm(['since'], async (values) => {
    const since = new Date(String(values.get('since')))
    const state = which === 'both' ? undefined : which
    const count = await replayDeliveries(webhook.id, { since, state })
    notify(
      count === 0
        ? 'No message was to be sent again'
        : `${formatCount(count, 'message')} will be sent again`,
    )
    onClose()
  })
  return (
    <Dialog
      open
      onOpenChange={onClose}
      title="Replay messages"
      description="They keep their ids, by which a receiver knows what it has seen. Pending ones are on their way anyway."
    >
      <form onSubmit={form.submit} className="space-y-4">
        <TextField
          label="Since"
          name="since"
          type="datetime-local"
          required
          defaultValue={localMinute(now - hourMs)}
          min={localMinute(now - keptMs)}
          max={localMinute(now)}
          hint="In the time zone of this browser, at most 30 days ago."
          error={form.errorOf('since')}
          autoFocus
        />
        <RadioCards<Which>
          label="Messages"
          name="state"
          value={which}
          onChange={setWhich}
          choices={[
            { value: 'failed', label: 'That failed' },
            { value: 'delivered', label: 'That were delivered' },
            { value: 'both', label: 'Both' },
          ]}
        />
        {form.error !== undefined && <ErrorNotice error={form.error} />}
        <DialogButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={form.isBusy}>
            Replay
          </Button>
        </DialogButtons>
      </form>
    </Dialog>
  )
}

/** A moment as a field shows it, such as 2030-01-31T09:00, in this browser's time zone. */
function localMinute(ms: number): string {
  const local = new Date(ms - new Date(ms).getTimezoneOffset() * 60_000)
  return local.toISOString().slice(0, 16)
}
