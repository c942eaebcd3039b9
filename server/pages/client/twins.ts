/** Asks before a second page with the same title is created. */

import type { Grove } from '../../../spec/client/client.ts'
import { pathOf } from './paths.ts'

interface Place {
  readonly org: string
  /** The id of the new page. */
  readonly node: string
}

/** Returns the question, if another page has this title. `create` runs if the user wants a second one. */
export async function twinQuestion(
  api: Grove,
  { org, node }: Place,
  title: string,
  create: () => void,
): Promise<Node | undefined> {
  const { nodesNamed } = await import('../linking.ts')
  const twins = await nodesNamed(api, org, title).catch(() => [])
  // The page itself, if it was created and the answer was lost.
  if (twins.length === 0 || twins.some(({ node_id }) => node_id === node)) return undefined
  const links = twins.flatMap(({ node_id, title: named }, at) => {
    const link = document.createElement('a')
    Object.assign(link, { href: pathOf(node_id, named), textContent: named })
    return [...(at > 0 ? [', '] : []), link]
  })
  const button = document.createElement('button')
  Object.assign(button, { type: 'button', className: 'btn small', textContent: 'Create a second page' })
  button.addEventListener('click', create)
  const question = document.createElement('span')
  question.append('A page with this title already exists: ', ...links, '. Change the title, or: ', button)
  return question
}
