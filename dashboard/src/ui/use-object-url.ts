import { useEffect, useState } from 'react'

/** The address of a blob for as long as it is shown. */
export function useObjectUrl(blob: Blob | undefined): string | undefined {
  const [url, setUrl] = useState<string>()
  useEffect(() => {
    const made = blob && URL.createObjectURL(blob)
    // The address is a resource of the browser, which must be given back.
    // oxlint-disable-next-line react/set-state-in-effect
    setUrl(made)
    if (!made) return
    return () => URL.revokeObjectURL(made)
  }, [blob])
  return url
}
