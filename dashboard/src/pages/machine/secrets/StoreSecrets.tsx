import type { MachineRecord, Secret } from '@computer/sdk'
import { useState } from 'react'
import { Button } from '../../../ui/Button.tsx'
import { Dialog } from '../../../ui/Dialog.tsx'
import { StoreLines } from './StoreLines.tsx'
import { StoreOne } from './StoreOne.tsx'

/** Stores one secret, or those of several lines at once. */
export function StoreSecrets({
  machine,
  name,
  existing,
  onClose,
}: {
  readonly machine: MachineRecord
  /** The secret to replace. */
  readonly name?: string
  readonly existing: readonly Secret[]
  readonly onClose: () => void
}) {
  const [lines, setLines] = useState<string>()
  return (
    <Dialog
      open
      onOpenChange={onClose}
      wide={lines !== undefined}
      title={name === undefined ? `Add secrets to ${machine.name}` : `Replace ${name}`}
      description={
        machine.state === 'running'
          ? 'New logins have it within seconds. Programs that run keep what they have.'
          : 'It is delivered at the next start.'
      }
    >
      {lines === undefined ? (
        <StoreOne machine={machine} name={name} onLines={setLines} onClose={onClose}>
          {name === undefined && (
            <Button look="ghost" onClick={() => setLines('')}>
              Paste several lines
            </Button>
          )}
        </StoreOne>
      ) : (
        <StoreLines machine={machine} pasted={lines} existing={existing} onClose={onClose} />
      )}
    </Dialog>
  )
}
