/** Follows the links of all documents. Finds connections, nodes that show a file, and unresolved links. */

import type { Resolve } from '../../../markdown/link-resolver.ts'
import type { Link } from '../../../markdown/markdown-facts.ts'
import type { Place, Tree } from '../../../markdown/tree.ts'
import { namedPath } from '../../../markdown/vault-paths.ts'
import type { Canvas } from '../read/canvas.ts'
import type { Document, DocumentLink } from '../read/document.ts'
import { shortened, type Unresolved, type UnresolvedKind } from './unresolved.ts'

export interface Connection {
  readonly target: Place
  /** The kind of link, or the name of its property if the type declares it. */
  readonly type: string
  /** The words of the first such link; '' if it has no words. */
  readonly label: string
}

/** The nodes that show a file, each with the first path that its text names. */
export type ShownBy = ReadonlyMap<Place, string | undefined>

export interface Connections {
  /** The connections of each place, in text order, one per target and type. */
  readonly of: ReadonlyMap<Place, readonly Connection[]>
  readonly shownBy: ReadonlyMap<string, ShownBy>
  /** Unresolved links, one per file and target. */
  readonly unresolved: readonly Unresolved[]
}

type KindOf = (from: string, link: Link) => UnresolvedKind

/** True if the type of a note with these properties has connections of that name. */
export type Declares = (properties: Document['properties'], connection: string) => boolean

/** @param kindOf classifies a link that `resolve` does not find */
export function followLinks(
  tree: Tree,
  documents: ReadonlyMap<string, Document>,
  canvases: ReadonlyMap<string, Canvas>,
  resolve: Resolve,
  kindOf: KindOf,
  declares: Declares,
): Connections {
  const of = new Map<Place, Map<string, Connection>>()
  const shownBy = new Map<string, Map<Place, string | undefined>>()
  const unresolved = new Map<string, Unresolved>()
  for (const [path, { links, hugoReferences, properties }] of documents) {
    const source = tree.byFile.get(path)
    if (!source) throw new Error(`a tree has a place for ${path}`)
    for (const link of links) {
      const found = resolve(path, link)
      const target = found === undefined ? undefined : placeAt(found)
      if (found === undefined)
        lose(path, link.form === 'wikilink' ? `[[${link.target}]]` : link.target, kindOf(path, link))
      else if (target) connect(source, { target, type: typeOf(link, properties, declares), label: link.label })
      else show(found, source, namedPath(link))
    }
    for (const target of hugoReferences) lose(path, target, 'hugo')
  }
  for (const [path, { edges }] of canvases)
    for (const { from, to, label } of edges) {
      const [source, target] = [cardAt(path, from), cardAt(path, to)]
      if (source && target) connect(source, { target, type: 'canvas', label })
    }
  return {
    of: new Map([...of].map(([place, connections]) => [place, [...connections.values()]])),
    shownBy,
    unresolved: [...unresolved.values()],
  }

  function placeAt(path: string): Place | undefined {
    return tree.byFile.get(path) ?? tree.byFolder.get(path)
  }

  /** Finds the place of a card. It names its file by the path in the vault. */
  function cardAt(canvas: string, file: string): Place | undefined {
    const found = resolve(canvas, { target: `/${file}`, form: 'wikilink', type: 'embeds', label: '' })
    if (found === undefined) lose(canvas, file, 'missing')
    return found === undefined ? undefined : placeAt(found)
  }

  function connect(source: Place, connection: Connection): void {
    const key = `${connection.type} ${connection.target.key}`
    const known = of.get(source) ?? new Map<string, Connection>()
    of.set(source, known)
    if (connection.target !== source && !known.has(key)) known.set(key, connection)
  }

  function show(file: string, place: Place, named: string | undefined): void {
    const places = shownBy.get(file) ?? new Map<Place, string | undefined>()
    shownBy.set(file, places.set(place, places.get(place) ?? named))
  }

  function lose(path: string, target: string, kind: UnresolvedKind): void {
    const key = `${path}\0${kind}\0${target}`
    if (!unresolved.has(key)) unresolved.set(key, { path, target: shortened(target), kind })
  }
}

function typeOf({ property, type }: DocumentLink, properties: Document['properties'], declares: Declares): string {
  return property !== undefined && declares(properties, property) ? property : type
}
