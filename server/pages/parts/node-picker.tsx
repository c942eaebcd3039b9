/** Choosing another page without script: a search form, and its results as radio buttons. */

import * as limits from '../../base/limits.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import type { Settings } from './settings-section.tsx'

export interface Found {
  /** The words of the search. */
  readonly words: string
  readonly nodes: AnswerOf<'suggestTitles'>['suggestions']
}

/** Characters of the words of a search. */
const mostWords = 500

/** Finds pages by title, except this one. @param name the field of the query and of the form */
export async function findNodes({ visit, at }: Settings, name: string): Promise<Found> {
  const sent = visit.form.get(`${name}_words`) ?? visit.query.get(name) ?? ''
  const words = sent.trim().slice(0, mostWords)
  if (words === '') return { words, nodes: [] }
  const { suggestions } = await visit.api.suggestTitles({
    path: { org_id: at.org.id },
    query: { q: words, limit: limits.pickedTitles + 1 },
  })
  return { words, nodes: suggestions.filter(({ node_id }) => node_id !== at.node.id).slice(0, limits.pickedTitles) }
}

interface SearchProps {
  readonly settings: Settings
  readonly section: 'move' | 'links'
  readonly name: string
  readonly label: string
  readonly found: Found
}

export function NodeSearch({ settings: { visit, at }, section, name, label, found }: SearchProps) {
  return (
    <form class="pick" method="get" action={visit.urls.nodeSettings(at.org.id, at.node.id, section)}>
      <label for={`${section}-${name}`}>{label}</label>
      <span class="line">
        <input
          id={`${section}-${name}`}
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
      {found.nodes.map(({ node_id, title }) => (
        <label class="check">
          <input
            type="radio"
            name={name}
            value={node_id}
            required
            checked={node_id === chosen || found.nodes.length === 1}
          />
          <span>
            {title} {notes?.has(node_id) && <small>{notes.get(node_id)}</small>}
          </span>
        </label>
      ))}
    </fieldset>
  )
}
