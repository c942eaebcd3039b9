/** Checks HTML that a page shows. */

import { expect } from 'chai'

const empty = new Set(['br', 'hr', 'img', 'input'])

/** An element in HTML, with its attributes. */
export interface Element {
  readonly name: string
  readonly attributes: ReadonlyMap<string, string>
}

/** Returns the elements, in order. Fails if a tag is not closed, closed twice or not written correctly. */
export function expectBalanced(html: string): Element[] {
  const open: string[] = []
  const found: Element[] = []
  const rest = html.replace(/<(\/?)([a-z][a-z\d]*)((?: [a-z][\w-]*(?:="[^"<>]*")?)*)>/g, (_, end, name, attributes) => {
    if (end === '/') expect(open.pop()).to.equal(name)
    else {
      if (!empty.has(name)) open.push(name)
      const pairs = [...String(attributes).matchAll(/ ([\w-]+)(?:="([^"]*)")?/g)]
      found.push({ name, attributes: new Map(pairs.map(([, key = '', value = '']) => [key, value])) })
    }
    return ''
  })
  expect(open).to.deep.equal([])
  expect(rest).not.to.match(/[<>]/)
  return found
}
