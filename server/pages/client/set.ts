/** Loads the pages of a proposal when they are opened, and marks them as read. Without script, links show one at a time. */

// Each answer counts the pages that the visitor has read, so the next request waits for it.
let last = Promise.resolve()

const ends = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    const item = target.closest<HTMLDetailsElement>('.set-item')
    if (!isIntersecting || !item) continue
    ends.unobserve(target)
    loadInTurn(item, item.dataset.toRead)
  }
})

for (const item of document.querySelectorAll<HTMLDetailsElement>('.set-item')) {
  item.addEventListener('toggle', () => {
    const link = item.querySelector<HTMLAnchorElement>('[data-show-page]')
    if (item.open) loadInTurn(item, link?.href)
  })
  // The reader has read a page that is open when its end is in view.
  const end = item.dataset.toRead && item.querySelector('.set-foot')
  if (end) ends.observe(end)
}

function loadInTurn(item: HTMLDetailsElement, href: string | undefined): void {
  if (href) last = last.then(() => load(item, href)).catch(() => undefined)
}

async function load(item: HTMLDetailsElement, href: string): Promise<void> {
  const answer = await fetch(href, { headers: { Accept: 'text/html' } }).catch(() => undefined)
  // The link is still there.
  if (!answer?.ok) return
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
  const read = page.getElementById('read')
  if (read) document.getElementById('read')?.replaceWith(read)
  const body = page.querySelector(`.set-item[id="${item.id}"] > .changes`)
  const link = item.querySelector('[data-show-page]')
  if (!body || !link) return
  // Forms lead back to this page with all items.
  for (const form of body.querySelectorAll('form')) form.setAttribute('action', '?')
  link.parentElement?.replaceWith(body)
}
