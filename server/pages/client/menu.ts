/** Menus: arrow keys move, and Escape or a click elsewhere closes. Copies the link of a page. */

document.addEventListener('keydown', (event) => {
  const { key } = event
  for (const menu of openMenus()) {
    if (key === 'ArrowDown') move(menu, 1, event)
    else if (key === 'ArrowUp') move(menu, -1, event)
    else if (key === 'Escape') {
      menu.open = false
      menu.querySelector('summary')?.focus()
    }
  }
})

/** Moves the focus between the parts of a menu, except from fields. */
function move(menu: HTMLElement, step: 1 | -1, event: KeyboardEvent): void {
  const parts = [...menu.querySelectorAll<HTMLElement>('summary, a, button')].filter(({ offsetParent }) => offsetParent)
  const at = parts.indexOf(document.activeElement as HTMLElement) // only compared
  if (at === -1) return
  event.preventDefault()
  parts.at((at + step) % parts.length)?.focus()
}

document.addEventListener('click', ({ target }) => {
  for (const menu of openMenus()) if (!menu.contains(target as Node)) menu.open = false // clicks come from elements
})

for (const button of document.querySelectorAll<HTMLButtonElement>('[data-copy-link]')) {
  // Without HTTPS, browsers do not offer the clipboard.
  button.hidden = !('clipboard' in navigator)
  button.addEventListener('click', async () => {
    const said = await navigator.clipboard.writeText(button.dataset.copyLink ?? '').then(
      () => 'Copied',
      () => 'The browser did not allow copying',
    )
    button.textContent = said
  })
}

function openMenus(): NodeListOf<HTMLDetailsElement> {
  return document.querySelectorAll('details.menu[open]')
}

export {}
