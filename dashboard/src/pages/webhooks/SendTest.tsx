import type { Webhook } from '@computer/sdk'
import { useState } from 'react'
import { useDenial } from '../../api/session.ts'
import { sendTest } from '../../api/webhooks.ts'
import { Button } from '../../ui/Button.tsx'
import { Send } from '../../ui/icons.ts'
import { notifyError } from '../../ui/notify.ts'
import { hostOf, whyNotSend } from './webhook-words.ts'

/** Sends a message of the type webhook.test. */
export function SendTest({
  webhook,
  size,
  onSent,
}: {
  readonly webhook: Webhook
  readonly size?: 'small' | 'medium'
  readonly onSent?: () => void
}) {
  const denied = useDenial('api_keys:manage')
  const [isBusy, setBusy] = useState(false)
  const send = async () => {
    setBusy(true)
    try {
      await sendTest(webhook.id)
      onSent?.()
    } catch (error) {
      notifyError('The test message could not be sent', error)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Button
      size={size}
      icon={<Send aria-hidden />}
      aria-label={`Send a test to ${hostOf(webhook)}`}
      busy={isBusy}
      disabledReason={denied ?? whyNotSend(webhook)}
      onClick={() => void send()}
    >
      Send a test
    </Button>
  )
}
