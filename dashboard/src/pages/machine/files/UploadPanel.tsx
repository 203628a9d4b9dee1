import {
  cancelUpload,
  clearUploads,
  retryUpload,
  useUploads,
  type Upload,
} from '../../../api/uploads.ts'
import { formatBytes, formatCount } from '../../../format.ts'
import { Button } from '../../../ui/Button.tsx'
import { messageOf } from '../../../ui/ErrorNotice.tsx'
import { CircleAlert, RotateCcw, X } from '../../../ui/icons.ts'
import { ApiError } from '@computer/sdk'
import { nameOf, parentOf, visibleName } from './paths.ts'

/** More that wait or have failed are counted alone. */
const maxRows = 30

/** The uploads to a machine: all together, and those in progress or failed one by one. */
export function UploadPanel({ machineId }: { readonly machineId: string }) {
  const uploads = useUploads(machineId)
  if (uploads.length === 0) return null
  const failed = uploads.filter(({ state }) => state === 'failed')
  const sending = uploads.filter(({ state }) => state === 'sending')
  const done = uploads.filter(({ state }) => state === 'done')
  const isActive = failed.length + done.length < uploads.length
  const rows = [...sending, ...failed].slice(0, maxRows)
  const total = sum(uploads.map(({ size }) => size))
  const sent = sum(uploads.map((one) => Math.min(one.sent, one.size)))
  const summary = isActive
    ? `Uploading ${formatCount(uploads.length, 'file')}: ${done.length} done, ${formatBytes(sent)} of ${formatBytes(total)}`
    : `${formatCount(done.length, 'file')} uploaded${failed.length > 0 ? `, ${failed.length} failed` : ''}`
  return (
    <section
      aria-label="Uploads"
      className="sticky bottom-0 z-10 border-t border-line bg-raised px-4 py-2 sm:px-6"
    >
      <div className="flex items-center gap-3">
        <p className="min-w-0 flex-1 text-[13px] font-medium">{summary}</p>
        {!isActive && failed.length === 0 && (
          <Button
            look="ghost"
            size="small"
            label="Dismiss"
            icon={<X />}
            onClick={() => clearUploads(machineId)}
          />
        )}
      </div>
      {isActive && <Bar label="All uploads" sent={sent} size={total} />}
      <span role="status" className="sr-only">
        {!isActive && summary}
      </span>
      {rows.length > 0 && (
        <ul className="mt-2 max-h-[40vh] divide-y divide-line overflow-y-auto">
          {rows.map((upload) => (
            <UploadRow key={upload.id} upload={upload} />
          ))}
        </ul>
      )}
      {failed.length > rows.length && (
        <p className="text-xs text-muted">and {failed.length - rows.length} more</p>
      )}
    </section>
  )
}

function UploadRow({ upload }: { readonly upload: Upload }) {
  const { id, path, state, sent, size, error } = upload
  const name = visibleName(nameOf(path))
  const isFailed = state === 'failed'
  const requestId = error instanceof ApiError ? error.requestId : null
  return (
    <li className="flex items-center gap-2 py-1.5 text-[13px]">
      {isFailed && <CircleAlert className="size-4 shrink-0 text-bad" aria-hidden />}
      <div className="min-w-0 flex-1">
        <p className="flex gap-2">
          <bdi className="truncate" title={visibleName(parentOf(path))}>
            {name}
          </bdi>
          <span className="ml-auto shrink-0 text-muted">
            {formatBytes(sent)} of {formatBytes(size)}
          </span>
        </p>
        {isFailed ? (
          <p role="alert" className="break-words text-bad">
            {messageOf(error)} {requestId && `(request ${requestId})`}
          </p>
        ) : (
          <Bar label={name} sent={sent} size={size} />
        )}
      </div>
      {isFailed && (
        <Button
          look="ghost"
          size="small"
          label={`Try ${name} again`}
          icon={<RotateCcw />}
          onClick={() => retryUpload(id)}
        />
      )}
      <Button
        look="ghost"
        size="small"
        label={`${isFailed ? 'Dismiss' : 'Cancel'} ${name}`}
        icon={<X />}
        onClick={() => cancelUpload(id)}
      />
    </li>
  )
}

function Bar({
  label,
  sent,
  size,
}: {
  readonly label: string
  readonly sent: number
  readonly size: number
}) {
  const percent = size === 0 ? 100 : Math.floor((Math.min(sent, size) / size) * 100)
  return (
    <div
      role="progressbar"
      aria-label={label}
      aria-valuenow={percent}
      aria-valuemin={0}
      aria-valuemax={100}
      className="mt-1 h-1 overflow-hidden rounded-full bg-sunken"
    >
      <div className="h-full rounded-full bg-accent-fg" style={{ width: `${percent}%` }} />
    </div>
  )
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0)
}
