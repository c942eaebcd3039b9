/** Moves a page of the tree below the page that it was dropped on. */

import type { components } from '../../../spec/client/types.ts'
import { fetchJson } from './fetch.ts'

type Details = components['schemas']['NodeDetails']
/** Shows the tree as it is now, with the level below a node open. */
type Redraw = (id: string) => Promise<void>

interface Refusal {
  readonly detail: string | readonly { readonly msg: string }[]
}

interface Moved {
  readonly id: string
  readonly title: string
}

const { root = '', org = '' } = document.body.dataset

/** Moves the page from the parent that the tree shows. First adds the new parent, so that a failure leaves the old one. */
export async function move(tree: HTMLElement, item: HTMLElement, target: HTMLElement, redraw: Redraw): Promise<void> {
  const [page, to] = [nameOf(item), nameOf(target)]
  const from = item.dataset.parent ?? ''
  const node = await fetchJson<Details>(`nodes/${page.id}`)
  if (!node) return say(tree, `${page.title} was not moved. Check your connection and try again.`)
  if (node.parents.some(({ id }) => id === to.id)) return say(tree, `${page.title} is already under ${to.title}.`)
  const label = node.parents.find(({ id }) => id === from)?.label ?? ''
  const fault = await relocate(page, from, to.id, label)
  if (fault !== undefined) return say(tree, fault)
  await redraw(to.id)
  say(tree, `Moved ${page.title} to ${to.title}.`, async () => {
    const failed = await relocate(page, to.id, from, label)
    await redraw(from)
    say(tree, failed ?? `Moved ${page.title} back.`)
  })
}

/** Adds one parent, then removes the other. Returns a sentence about what failed. `''` is the place of a root. */
async function relocate({ id, title }: Moved, from: string, to: string, label: string): Promise<string | undefined> {
  const parents = `nodes/${id}/parents`
  if (to !== '') {
    const refused = await send('PUT', `${parents}/${to}`, { label })
    if (refused !== undefined) return `${title} was not moved. ${refused}`
  }
  const kept = from === '' ? undefined : await send('DELETE', `${parents}/${from}`)
  return kept === undefined ? undefined : `${title} is now in both places. ${kept}`
}

/** Sends a change. Returns the reason if it is refused. */
async function send(method: string, path: string, body?: object): Promise<string | undefined> {
  try {
    const headers = { 'Content-Type': 'application/json' }
    const answer = await fetch(`${root}/orgs/${org}/${path}`, {
      method,
      ...(body && { headers, body: JSON.stringify(body) }),
    })
    if (answer.ok) return undefined
    const { detail } = (await answer.json()) as Refusal // the API's error
    return typeof detail === 'string' ? `${detail}.` : detail.map(({ msg }) => `${msg}.`).join(' ')
  } catch {
    return 'The service could not be reached.'
  }
}

function nameOf(item: HTMLElement): Moved {
  return { id: item.dataset.id ?? '', title: item.querySelector('.t')?.textContent ?? '' }
}

/** Shows a notice at the foot of the tree. */
function say(tree: HTMLElement, text: string, undo?: () => Promise<void>): void {
  tree.querySelector('.told')?.remove()
  const notice = document.createElement('p')
  notice.className = 'told'
  notice.setAttribute('role', 'status')
  tree.append(notice)
  notice.append(text)
  if (!undo) return
  const button = document.createElement('button')
  Object.assign(button, { type: 'button', className: 'btn small', textContent: 'Undo' })
  button.addEventListener('click', () => {
    button.disabled = true
    void undo()
  })
  notice.append(' ', button)
}
