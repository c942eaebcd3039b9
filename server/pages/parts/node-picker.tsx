/** Choosing another page without script: a search form, and its results as radio buttons. */

import * as limits from '../../base/limits.ts'
import { folded } from '../../markdown/note-names.ts'
import type { PageContext } from '../page-context.ts'

export interface Found {
  /** The words of the search. */
  readonly words: string
  readonly nodes: readonly {
    readonly node_id: string
    readonly title: string
    /** Says where it is, if another one has the same title. */
    readonly where?: string
  }[]
}

/** Characters of the words of a search. */
const mostWords = 500

/** Finds pages by title. @param name the field of the query and of the form. @param except the id of a page to leave out */
export async function findNodes(visit: PageContext, org_id: string, name: string, except?: string): Promise<Found> {
  const sent = visit.form.get(`${name}_words`) ?? visit.query.get(name) ?? ''
  const words = sent.trim().slice(0, mostWords)
  if (words === '') return { words, nodes: [] }
  const { suggestions } = await visit.api.suggestTitles({
    path: { org_id },
    query: { q: words, limit: limits.pickedTitles + 1 },
  })
  const nodes = suggestions.filter(({ node_id }) => node_id !== except).slice(0, limits.pickedTitles)
  const isTwin = ({ title }: { readonly title: string }) =>
    nodes.filter((one) => folded(one.title) === folded(title)).length > 1
  return {
    words,
    nodes: await Promise.all(
      nodes.map(async (node) => (isTwin(node) ? { ...node, where: await placeOf(visit, org_id, node.node_id) } : node)),
    ),
  }
}

async function placeOf({ api }: PageContext, org_id: string, node_id: string): Promise<string> {
  const { parents, num_parents } = await api.getNode({ path: { org_id, node_id } })
  const [first] = parents
  if (first === undefined) return 'at the top'
  return num_parents > 1 ? `below ${first.title} and others` : `below ${first.title}`
}

interface SearchProps {
  /** The path of the page, with the anchor of the section. */
  readonly action: string
  readonly name: string
  readonly label: string
  readonly found: Found
}

export function NodeSearch({ action, name, label, found }: SearchProps) {
  return (
    <form class="pick" method="get" action={action}>
      <label for={`find-${name}`}>{label}</label>
      <span class="line">
        <input
          id={`find-${name}`}
          type="search"
          name={name}
          value={found.words}
          maxLength={mostWords}
          placeholder="Title"
          autocomplete="off"
        />
        <button class="btn" type="submit">
          Search
        </button>
      </span>
      {found.words !== '' && found.nodes.length === 0 && <p class="why">No page has a title like “{found.words}”.</p>}
      {found.nodes.some(({ where }) => where) && <p class="why">Several pages have the same title.</p>}
    </form>
  )
}

interface ChoiceProps {
  readonly found: Found
  readonly name: string
  readonly legend: string
  readonly chosen: string | null
  /** Words after a title, by id. */
  readonly notes?: ReadonlyMap<string, string>
}

export function NodeChoices({ found, name, legend, chosen, notes }: ChoiceProps) {
  return (
    <fieldset class="choices">
      <legend>{legend}</legend>
      <input type="hidden" name={`${name}_words`} value={found.words} />
      {found.nodes.map(({ node_id, title, where }) => (
        <label class="check">
          <input
            type="radio"
            name={name}
            value={node_id}
            required
            checked={node_id === chosen || found.nodes.length === 1}
          />
          <span>
            {title} <small>{[where, notes?.get(node_id)].filter(Boolean).join(', ')}</small>
          </span>
        </label>
      ))}
    </fieldset>
  )
}
