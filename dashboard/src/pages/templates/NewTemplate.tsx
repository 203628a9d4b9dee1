import type { Image } from '@computer/sdk'
import { machineSizes } from '@computer/sdk/tables'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { createTemplate, imagesQuery } from '../../api/templates.ts'
import { Button } from '../../ui/Button.tsx'
import { Dialog, DialogButtons } from '../../ui/Dialog.tsx'
import { ErrorNotice } from '../../ui/ErrorNotice.tsx'
import { notify } from '../../ui/notify.ts'
import { QueryView } from '../../ui/QueryView.tsx'
import { Select } from '../../ui/Select.tsx'
import { useForm } from '../../ui/use-form.ts'
import { SizeSelect } from '../sizes/SizeSelect.tsx'
import { TemplateFields } from './TemplateFields.tsx'

/** A template of an image and a size. Those of a disk begin at a snapshot. */
export function NewTemplate({ onClose }: { readonly onClose: () => void }) {
  const images = useQuery(imagesQuery)
  return (
    <Dialog
      open
      onOpenChange={onClose}
      title="New template"
      description="From an image and a size. To keep what is on a machine, press “Make a template” at one of its snapshots."
    >
      <QueryView query={images}>
        {(all) => <NewTemplateForm images={all} onClose={onClose} />}
      </QueryView>
    </Dialog>
  )
}

function NewTemplateForm({
  images,
  onClose,
}: {
  readonly images: readonly Image[]
  readonly onClose: () => void
}) {
  const [imageId, setImageId] = useState(
    () => (images.find((image) => image.default) ?? images[0])?.id ?? '',
  )
  const [size, setSize] = useState(machineSizes[0]!)
  const form = useForm(['name', 'description'], async (values) => {
    const name = String(values.get('name')).trim()
    const description = String(values.get('description'))
    await createTemplate({ name, description, size, ...(imageId !== '' && { imageId }) })
    onClose()
    notify(`Template “${name}” is made`)
  })
  return (
    <form onSubmit={form.submit} className="space-y-3">
      <TemplateFields form={form} />
      {images.length > 0 && (
        <Select
          label="Image"
          value={imageId}
          onChange={setImageId}
          choices={images.map(({ id, name, description }) => ({
            value: id,
            label: name,
            detail: description,
          }))}
        />
      )}
      <SizeSelect value={size} onChange={setSize} hint="Of machines that do not ask for another." />
      {form.error !== undefined && <ErrorNotice error={form.error} />}
      <DialogButtons>
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" look="primary" busy={form.isBusy}>
          Create the template
        </Button>
      </DialogButtons>
    </form>
  )
}
