/** Made-up English for tests: the same seed gives the same text. */
const WORDS =
  'amber anchor autumn badge barley basin beacon blanket bramble breeze brook button cabin candle canal carpet cellar chalk cherry cider cinder clover cobble copper cotton cradle current dagger daisy dawn dealer delta desert dinner donkey dragon drawer dusk eagle early echo elbow ember engine errand fabric falcon feather fennel ferry fiddle flagon flannel forest fossil fountain gallop garden garlic ginger glacier gravel hamlet hammer harbour harvest hazel heron hollow honey hunter island ivory jacket journey juniper kettle kitchen ladder lantern laurel lemon linen lobster locket maple marble market meadow mellow mirror mitten morning mortar mustard needle nettle nickel nutmeg orchard otter oyster paddle parcel parsley pebble pepper pigeon pillow planet plaster pocket poplar potter prairie puddle quarry quiver rabbit raven ribbon river rocket saddle saffron sailor salmon satin scarlet season shadow shelter silver sparrow spindle stable station summer sunset teapot temple thimble thistle timber trumpet tulip tunnel turnip valley velvet vessel village violet wagon walnut walrus weaver whistle willow window winter wonder yarrow'.split(
    ' ',
  );

/** Uniform integers below n (a multiplicative congruential generator). */
export function dice(seed: number): (below: number) => number {
  let x = (seed * 2 + 1) >>> 0;
  return (below) => {
    x = Math.imul(x, 747_796_405) + 2_891_336_453;
    return Math.floor(((x >>> 0) / 4_294_967_296) * below);
  };
}

export function prose(seed: number, words: number): string {
  const roll = dice(seed);
  return Array.from({ length: words }, () => WORDS[roll(WORDS.length)]!).join(' ');
}
