import type { Webhook } from '@computer/sdk'
import { lazy, Suspense, useState } from 'react'
import { updateWebhook } from '../../api/webhooks.ts'
import { useDenial } from '../../api/session.ts'
import { Button } from '../../ui/Button.tsx'
import { Ellipsis, KeyRound, Pencil, Play, Power, Trash2 } from '../../ui/icons.ts'
import { Menu, MenuItem, MenuSeparator } from '../../ui/Menu.tsx'
import { notifyError } from '../../ui/notify.ts'
import { DeleteWebhook } from './DeleteWebhook.tsx'
import { DisableWebhook } from './DisableWebhook.tsx'
import { hostOf } from './webhook-words.ts'

const EditWebhook = lazy(async () => ({ default: (await import('./EditWebhook.tsx')).EditWebhook }))
const RotateSecret = lazy(async () => ({
  default: (await import('./RotateSecret.tsx')).RotateSecret,
}))

/** What can be changed of a webhook. */
export function WebhookMenu({
  webhook,
  size = 'small',
  onDeleted,
}: {
  readonly webhook: Webhook
  readonly size?: 'small' | 'medium'
  /** The page is about this webhook. */
  readonly onDeleted?: () => void
}) {
  const denied = useDenial('api_keys:manage')
  const [asks, setAsks] = useState<'edit' | 'disable' | 'rotate' | 'delete'>()
  const close = () => setAsks(undefined)
  const host = hostOf(webhook)
  const enable = () =>
    void updateWebhook(webhook.id, { enabled: true }).catch((error: unknown) =>
      notifyError(`The webhook to ${host} could not be enabled`, error),
    )
  return (
    <>
      <Menu
        trigger={
          <Button
            look={size === 'small' ? 'ghost' : 'secondary'}
            size={size}
            label={`Actions of the webhook to ${host}`}
            icon={<Ellipsis />}
          />
        }
      >
        <MenuItem
          icon={<Pencil aria-hidden />}
          disabledReason={denied}
          onSelect={() => setAsks('edit')}
        >
          Edit
        </MenuItem>
        {webhook.enabled ? (
          <MenuItem
            icon={<Power aria-hidden />}
            disabledReason={denied}
            onSelect={() => setAsks('disable')}
          >
            Disable
          </MenuItem>
        ) : (
          <MenuItem icon={<Play aria-hidden />} disabledReason={denied} onSelect={enable}>
            Enable
          </MenuItem>
        )}
        <MenuItem
          icon={<KeyRound aria-hidden />}
          disabledReason={denied}
          onSelect={() => setAsks('rotate')}
        >
          Rotate the secret
        </MenuItem>
        <MenuSeparator />
        <MenuItem
          icon={<Trash2 aria-hidden />}
          danger
          disabledReason={denied}
          onSelect={() => setAsks('delete')}
        >
          Delete
        </MenuItem>
      </Menu>
      <Suspense>
        {asks === 'edit' && <EditWebhook webhook={webhook} onClose={close} />}
        {asks === 'rotate' && <RotateSecret webhook={webhook} onClose={close} />}
      </Suspense>
      {asks === 'disable' && <DisableWebhook webhook={webhook} onClose={close} />}
      {asks === 'delete' && (
        <DeleteWebhook webhook={webhook} onClose={close} onDeleted={onDeleted} />
      )}
    </>
  )
}
