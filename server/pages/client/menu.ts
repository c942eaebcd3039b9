/** Closes open menus with Escape or a click elsewhere. Copies the link of a page. */

document.addEventListener('keydown', ({ key }) => {
  if (key !== 'Escape') return
  for (const menu of openMenus()) {
    menu.open = false
    menu.querySelector('summary')?.focus()
  }
})

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
