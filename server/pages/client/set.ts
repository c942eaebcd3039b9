/** Loads the pages of a proposal when they are opened. Without script, their links show one at a time. */

for (const item of document.querySelectorAll<HTMLDetailsElement>('.set-item'))
  item.addEventListener('toggle', () => void load(item))

async function load(item: HTMLDetailsElement): Promise<void> {
  const link = item.querySelector<HTMLAnchorElement>('[data-show-page]')
  if (!item.open || !link) return
  const answer = await fetch(link.href, { headers: { Accept: 'text/html' } }).catch(() => undefined)
  // The link is still there.
  if (!answer?.ok) return
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
  const body = page.querySelector(`.set-item[id="${item.id}"] > .changes`)
  if (!body) return
  // Forms lead back to this page with all items.
  for (const form of body.querySelectorAll('form')) form.setAttribute('action', '?')
  link.parentElement?.replaceWith(body)
}
