import { CopyButton } from '../../../ui/CopyButton.tsx'

/** The address of a published port: a link only if it is one of the web. */
export function PortLink({ url }: { readonly url: string }) {
  return (
    <span className="flex max-w-96 min-w-52 items-center gap-1">
      {isWebAddress(url) ? (
        <a
          href={url}
          target="_blank"
          rel="noopener noreferrer"
          title={url}
          className="truncate text-accent-fg underline-offset-2 hover:underline"
        >
          {url}
        </a>
      ) : (
        <span className="truncate" title={url}>
          {url}
        </span>
      )}
      <CopyButton text={url} label="Copy the address" />
    </span>
  )
}

function isWebAddress(text: string): boolean {
  const protocol = URL.canParse(text) ? new URL(text).protocol : ''
  return protocol === 'https:' || protocol === 'http:'
}
