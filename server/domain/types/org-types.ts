/** The types of an organisation, found by the property `type` of a node. */

import { foldCase } from '../../../index/fold-case.ts'
import type { TypeDefinition } from './definition.ts'
import { either, quote } from './wording.ts'

export interface NodeType {
  readonly name: string
  /** The blob of the definition. */
  readonly version: string
  readonly definition: TypeDefinition
}

type Properties = Readonly<Record<string, unknown>>

export class OrgTypes {
  readonly types: readonly NodeType[]
  /** True if a node may not get a type that nobody defined. */
  readonly refusesUnknown: boolean
  private readonly byName = new Map<string, NodeType>()

  /** Names go before aliases, and aliases of earlier types before those of later ones. */
  constructor(types: readonly NodeType[], refusesUnknown: boolean) {
    this.types = types
    this.refusesUnknown = refusesUnknown
    for (const type of types) this.byName.set(type.name, type)
    for (const type of types)
      for (const alias of type.definition.aliases ?? [])
        if (!this.byName.has(foldCase(alias))) this.byName.set(foldCase(alias), type)
  }

  /** Finds a type by its name or an alias, without case. */
  find(text: string): NodeType | undefined {
    // Keys are folded, and most texts are already.
    return this.byName.get(text) ?? this.byName.get(foldCase(text))
  }

  /** The type of a node with these properties. */
  typeOf(properties: Properties): NodeType | undefined {
    const text = typeText(properties)
    return text === undefined ? undefined : this.find(text)
  }

  /** The same name for all spellings of a type, also of one that nobody defined. */
  nameOf(text: string): string {
    return this.find(text)?.name ?? foldCase(text)
  }

  /** Says which other type has the name or alias, if one has. */
  aliasProblem(name: string, alias: string): string | undefined {
    const other = this.types.find(
      (type) =>
        type.name !== name &&
        [type.name, ...(type.definition.aliases ?? [])].some((one) => foldCase(one) === foldCase(alias)),
    )
    return other && `${quote(alias)} already stands for the type ${quote(other.name)}`
  }

  /** The names of all types, for a sentence. */
  get listed(): string {
    return this.types.length === 0 ? 'no type is defined' : either(this.types.map(({ name }) => quote(name)))
  }
}

/** The property `type`, if it is a text. A list of one text is that text, because front matter often has lists. */
export function typeText(properties: Properties): string | undefined {
  const value = typeValue(properties)
  const [only, ...others] = [value].flat()
  return typeof only === 'string' && others.length === 0 ? only : undefined
}

/** The property `type` in any form. Null if it is missing. */
export function typeValue(properties: Properties): unknown {
  return Object.hasOwn(properties, 'type') ? (properties.type ?? null) : null
}
