/** A page of a sentence or two that loads no resources. Title and texts are not escaped. */
export function plainPage(
  title: string,
  text: string,
  links: readonly { readonly to: string; readonly text: string }[] = [],
): string {
  const after = links
    .map(({ to, text }) => `\n<p><a href="${escapeHtml(to)}">${text}</a></p>`)
    .join('')
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<h1>${title}</h1>
<p>${text}</p>${after}
</html>
`
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
