/** Opens the switcher with Ctrl+K, and remembers pages for it until the user signs out. */

import { forgetPages, rememberPage } from './recents.ts'

const { person, org } = document.body.dataset
const title = document.querySelector<HTMLElement>('[data-recent]')

if (person === undefined) forgetPages()
else if (title && org !== undefined)
  rememberPage(person, {
    ...{ id: title.dataset.recent ?? '', title: title.textContent?.trim() ?? '', path: location.pathname },
    ...{ org, orgName: document.querySelector('.logo.name')?.textContent?.trim() ?? '' },
  })

document.querySelector('form[data-sign-out]')?.addEventListener('submit', forgetPages)

const orgs = document.querySelector<HTMLDetailsElement>('[data-orgs]')
orgs?.addEventListener('toggle', () => {
  if (orgs.open) void import('./orgs.ts').then(({ fillOrgs }) => fillOrgs(orgs))
})

// On a Mac, Ctrl+K deletes the rest of a line.
const isMac = /^(Mac|iP)/.test(navigator.platform)

document.addEventListener('keydown', (event) => {
  const { key, ctrlKey, metaKey, shiftKey, altKey, defaultPrevented } = event
  const isCommand = (isMac ? metaKey && !ctrlKey : ctrlKey && !metaKey) && !shiftKey && !altKey
  // In the editor, the same key makes a link. Other dialogs keep the focus.
  if (!isCommand || key.toLowerCase() !== 'k' || defaultPrevented || document.querySelector(others)) return
  event.preventDefault()
  openSwitcher()
})

for (const button of document.querySelectorAll('[data-switch]')) button.addEventListener('click', openSwitcher)

const others = 'dialog[open]:not(.switcher)'

function openSwitcher(): void {
  void import('./switcher.ts').then(({ toggleSwitcher }) => toggleSwitcher())
}
