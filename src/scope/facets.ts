/**
 * Trap: faceted navigation. Each filter link of a shop adds a parameter, so ten filters make millions of views of the same few products.
 *
 * A query is refused when it shows that links were piled up:
 * - it filters or arranges in more than FACETS_MAX ways at once. Every occurrence of an attribute (color, size, price, filter[…], attr_…) is one way; all words of
 *   ordering together are one way, and all words of presentation are one;
 * - a name that can have one value only (page, sort, view, …) stands twice;
 * - the same name with the same value stands twice, or one name stands more than SAME_NAME_MAX times.
 *
 * Pagination, searches and two filters pass: with two ways at once all items of a list can be reached. It is a pure function of the query and cannot
 * know a shop's own words for its filters; the bound on parameters, the page budget and the count of near-duplicates stand behind it.
 */
import { readParameters } from './query.ts';

export const FACETS_MAX = 2;
export const SAME_NAME_MAX = 3;

type Facet = 'attribute' | 'order' | 'presentation';

const ORDER = [
  'sort',
  'sortby',
  'sort_by',
  'sort-by',
  'order',
  'orderby',
  'order_by',
  'order-by',
  'ordering',
  'dir',
  'direction',
  'sort_order',
  'product_list_order',
  'product_list_dir',
];
const PRESENTATION = [
  'view',
  'display',
  'layout',
  'mode',
  'viewmode',
  'view_mode',
  'list_mode',
  'product_list_mode',
  'limit',
  'per_page',
  'perpage',
  'per-page',
  'pagesize',
  'page_size',
  'product_list_limit',
  'results_per_page',
];
const ATTRIBUTE = [
  'color',
  'colour',
  'size',
  'brand',
  'brands',
  'manufacturer',
  'material',
  'style',
  'gender',
  'fit',
  'pattern',
  'rating',
  'condition',
  'availability',
  'instock',
  'in_stock',
  'on_sale',
  'price',
  'price_min',
  'price_max',
  'min_price',
  'max_price',
  'minprice',
  'maxprice',
  'price_from',
  'price_to',
  'price_range',
  'pricerange',
  'discount',
  'f',
  'fq',
  'facet',
  'facets',
  'filter',
  'filters',
  'refine',
  'refinement',
  'refinementlist',
  'farbe',
  'groesse',
  'marke',
  'couleur',
  'taille',
  'marque',
  'talla',
  'marca',
];
const ATTRIBUTE_BEGINNING = /^(?:filter|facet|attr|attribute|pa|refine)[_.-]/;
const SINGLE_VALUED = ['page', 'p', 'pg', 'paged', 'pagenum', 'page_num', 'offset', 'start', 'lang', 'hl', 'currency'];

const FACETS: ReadonlyMap<string, Facet> = new Map([
  ...ORDER.map((name) => [name, 'order'] as const),
  ...PRESENTATION.map((name) => [name, 'presentation'] as const),
  ...ATTRIBUTE.map((name) => [name, 'attribute'] as const),
]);
const SINGLE: ReadonlySet<string> = new Set([...SINGLE_VALUED, ...ORDER, ...PRESENTATION]);

/** The parameter that is one too many, or undefined. `query` is canonical, so equal names are neighbours; without its `?`. */
export function facetTrap(query: string): string | undefined {
  if (!query.includes('&')) return undefined;
  const groups = new FacetCount();
  let previous = '';
  let values: string[] = [];
  for (const { name, value } of readParameters(query)) {
    if (name !== previous) values = [];
    previous = name;
    const isRepeat = values.length > 0 && (SINGLE.has(name) || values.length >= SAME_NAME_MAX || values.includes(value));
    values.push(value);
    if (isRepeat || groups.add(facetOf(name)) > FACETS_MAX) return `${name}=${value}`;
  }
  return undefined;
}

/** Ways in which a query filters or arranges. */
class FacetCount {
  #ways = 0;
  #order = false;
  #presentation = false;

  add(facet: Facet | undefined): number {
    if (facet === 'attribute' || (facet === 'order' && !this.#order) || (facet === 'presentation' && !this.#presentation)) this.#ways++;
    this.#order ||= facet === 'order';
    this.#presentation ||= facet === 'presentation';
    return this.#ways;
  }
}

function facetOf(name: string): Facet | undefined {
  return FACETS.get(name) ?? (ATTRIBUTE_BEGINNING.test(name) ? 'attribute' : undefined);
}
